"""What the views of growth should hold, computed row by row from the versions in a history. test_growth.py compares them.

Written from the description of the measures, not from the SQL, so that the two can disagree.
"""

import math
import re
from collections import defaultdict
from statistics import mean, median

SEASONS = ["Fall", "Winter", "Spring", "Summer"]
SPANS = {
    "Fall to Fall": ("Fall", "Fall", 1),
    "Winter to Winter": ("Winter", "Winter", 1),
    "Spring to Spring": ("Spring", "Spring", 1),
    "Fall to Winter": ("Fall", "Winter", 0),
    "Fall to Spring": ("Fall", "Spring", 0),
    "Winter to Spring": ("Winter", "Spring", 0),
}


def season_and_year(name: str | None, begin) -> tuple[str | None, int | None]:
    """The season and the school year of a term."""
    words = [word.capitalize() for word in re.findall(r"[a-z]+", (name or "").lower())]
    season = next((word for word in words if word in SEASONS), None)
    if season is None and begin is not None:
        season = {12: "Winter", 1: "Winter", 2: "Winter", 3: "Spring", 4: "Spring", 5: "Spring", 6: "Spring"}.get(begin.month, "Fall")
    numbers = [number for number in re.findall(r"\d+", name or "") if len(number) == 4]
    if numbers:
        return season, int(numbers[0])
    return season, None if begin is None else begin.year - (begin.month < 7)


def grade_number(grade: str | None) -> int | None:
    text = (grade or "").strip().upper()
    if text in ("PK", "K"):
        return {"PK": -1, "K": 0}[text]
    return int(text) if re.fullmatch(r"0?[1-9]|1[0-2]", text) else None


def subject_of_norms(subject: str) -> str:
    return {"general science": "science"}.get(subject.lower(), subject.lower())


def round_half_up(number: float) -> int:
    return math.floor(number + 0.5)


def normal_distribution(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2


class Reference:
    """The views over the versions of tables, each a list of dicts, and norms: dicts with the columns of the file."""

    def __init__(self, tables: dict[str, list[dict]], norms: list[dict]):
        self.tables = tables
        self.terms = {}
        for session in tables["enrollment_sessions"]:
            if session["enrollment_session_bid"]:
                self.terms[session["enrollment_session_bid"]] = session
        self.norms = {}
        for row in norms:
            grade = 0 if str(row["startgrade"]).upper() == "K" else int(row["startgrade"])
            key = (subject_of_norms(row["measurementscale"]), row["growth_window"], grade, int(row["startrit"]))
            assert key not in self.norms
            self.norms[key] = tuple(float(row[name]) for name in ("reported_growth", "typical_growth", "std_dev_of_expectation"))

    def ever(self) -> list[dict]:
        """Every result once: the version that has not ended, or else the last one."""
        latest = {}
        for row in self.tables["test_results"]:
            if row["test_result_bid"]:
                order = (row["valid_to"], row["valid_from"])
                if row["test_result_bid"] not in latest or order > latest[row["test_result_bid"]][0]:
                    latest[row["test_result_bid"]] = (order, row)
        return [row for _, row in latest.values()]

    def percentiles(self) -> dict:
        """The percentile of the newest norms of each result and type, as they were on the last day of the result."""
        last_days = {(r["requested_school_bid"], r["test_result_bid"]): r["valid_to"] for r in self.ever()}
        best = {}
        for norm in self.tables["test_result_norms"]:
            of = (norm["requested_school_bid"], norm["test_result_bid"])
            ended = last_days.get(of)
            if ended is None or not norm["valid_from"] < ended <= norm["valid_to"]:
                continue
            key = (*of, (norm["type"] or "").lower())
            order = (norm["reference"] is not None, norm["reference"] or "", -norm["ordinal"])
            if key not in best or order > best[key][0]:
                best[key] = (order, norm["percentile"])
        return {key: percentile for key, (_, percentile) in best.items()}

    def term_results(self) -> list[dict]:
        percentiles = self.percentiles()
        candidates = defaultdict(list)
        for row in self.ever():
            term = self.terms.get(row["term_bid"])
            if not row["student_bid"] or not row["subject_area"] or row["rit"] is None or term is None:
                continue
            season, year = season_and_year(term["description"], term["begin_date"])
            if season in ("Fall", "Winter", "Spring") and year is not None:
                candidates[row["student_bid"], row["subject_area"], year, season].append(row)
        results = []
        for (student, subject, year, season), rows in candidates.items():
            rows.sort(key=lambda r: r["test_result_bid"])
            rows.sort(key=lambda r: -r["rit"])
            started = [r for r in rows if r["administration_start_date_time"] is not None]
            started.sort(key=lambda r: r["administration_start_date_time"], reverse=True)
            rows = started + [r for r in rows if r["administration_start_date_time"] is None]
            rows.sort(key=lambda r: math.inf if r["standard_error"] is None else r["standard_error"])
            rows.sort(key=lambda r: r["growth_event_yn"] is not True)
            best = rows[0]
            of = (best["requested_school_bid"], best["test_result_bid"])
            results.append(
                {
                    "student_bid": student,
                    "subject_area": subject,
                    "school_year": year,
                    "season": season,
                    "term_bid": best["term_bid"],
                    "test_result_bid": best["test_result_bid"],
                    "grade_number": grade_number(best["grade"]),
                    "school_bid": best["requested_school_bid"] if best["school_bid"] is None else best["school_bid"],
                    "rit": best["rit"],
                    "standard_error": best["standard_error"],
                    "achievement_percentile": percentiles.get((*of, "achievement")),
                    "growth_percentile": percentiles.get((*of, "growth")),
                }
            )
        return results

    def growth_spans(self) -> list[dict]:
        results = {(r["student_bid"], r["subject_area"], r["school_year"], r["season"]): r for r in self.term_results()}
        spans = []
        for (student, subject, year, season), start in results.items():
            for name, (first, last, years) in SPANS.items():
                end = results.get((student, subject, year + years, last))
                if season == first and end is not None:
                    spans.append({"student_bid": student, "subject_area": subject, "span": name} | self.growth(start, end, name))
        return spans

    def growth(self, start: dict, end: dict, span: str) -> dict:
        row = {"school_year": end["school_year"]}
        for name in ("test_result_bid", "term_bid", "grade_number", "rit", "standard_error", "school_bid", "achievement_percentile"):
            row |= {f"from_{name}": start[name], f"to_{name}": end[name]}
        observed = end["rit"] - start["rit"]
        errors = (start["standard_error"], end["standard_error"])
        error = None if None in errors else math.hypot(*errors)
        projected, typical, deviation = self.norms.get(
            (subject_of_norms(start["subject_area"]), span, start["grade_number"], start["rit"]), (None, None, None)
        )
        met = index = percentile = quintile = None
        if projected is not None:
            met = "Yes" if observed >= projected else "No"
            if error is not None and abs(observed - projected) < error:
                met += "*"
            index = (observed - projected) / deviation
            percentile = min(99, max(1, round_half_up(100 * normal_distribution(index))))
            quintile = ["Low", "LoAvg", "Avg", "HiAvg", "High"][(percentile - 1) // 20]
        return row | {
            "observed_growth": observed,
            "observed_growth_se": error,
            "projected_growth": projected,
            "typical_growth": typical,
            "growth_sd": deviation,
            "met_projected_growth": met,
            "conditional_growth_index": index,
            "conditional_growth_percentile": percentile,
            "growth_quintile": quintile,
            "service_growth_percentile": end["growth_percentile"],
        }

    @staticmethod
    def measures(groups: dict[tuple, list[dict]], names: tuple[str, ...]) -> list[dict]:
        rows = []
        for key, spans in groups.items():
            with_norms = [s for s in spans if s["projected_growth"] is not None]
            rows.append(
                dict(zip(names, key))
                | {
                    "students": len(spans),
                    "mean_observed_growth": mean(s["observed_growth"] for s in spans),
                    "mean_projected_growth": mean(s["projected_growth"] for s in with_norms) if with_norms else None,
                    "share_met": mean(s["met_projected_growth"].startswith("Yes") for s in with_norms) if with_norms else None,
                    "median_conditional_growth_percentile": median(s["conditional_growth_percentile"] for s in with_norms) if with_norms else None,
                    "with_norms": len(with_norms),
                }
            )
        return rows

    def growth_summary(self) -> list[dict]:
        names = ("to_school_bid", "to_grade_number", "subject_area", "span", "school_year")
        groups = defaultdict(list)
        for span in self.growth_spans():
            groups[tuple(span[name] for name in names)].append(span)
        return self.measures(groups, ("school_bid", "grade_number", *names[2:]))

    def class_growth(self) -> list[dict]:
        classes = defaultdict(set)
        for row in self.tables["school_class_students"]:
            if row["school_class_bid"] and row["student_bid"] and row["valid_to"].year == 9999:
                classes[row["student_bid"]].add(row["school_class_bid"])
        groups = defaultdict(list)
        for span in self.growth_spans():
            for school_class in classes[span["student_bid"]]:
                groups[school_class, span["subject_area"], span["span"], span["school_year"]].append(span)
        return self.measures(groups, ("school_class_bid", "subject_area", "span", "school_year"))

    def completion(self, days: list, district_of: dict[str, str]) -> list[dict]:
        def on(day, table):
            return [row for row in self.tables[table] if row["valid_from"] <= day < row["valid_to"]]

        with_results = {row["term_bid"] for row in self.tables["test_results"]}
        terms = defaultdict(set)
        for session in self.tables["enrollment_sessions"]:
            bid, school = session["enrollment_session_bid"], session["requested_school_bid"]
            if bid and (session["requested_perspective_bid"] == district_of.get(school) or bid in with_results):
                terms[school].add(bid)
        subjects = defaultdict(set)
        for row in self.tables["test_results"]:
            if row["subject_area"]:
                subjects[row["requested_school_bid"]].add(row["subject_area"])
        covered = defaultdict(set)
        for day in days:
            read = {(row["requested_school_bid"], row["dataset"]) for row in on(day, "coverage") if row["status"] == "ok"}
            for school in {school for school, _ in read}:
                if {(school, "students"), (school, "test_results")} <= read:
                    covered[school].add(day)
        rows = []
        for day in days:
            tested = defaultdict(set)
            for row in on(day, "test_results"):
                tested[row["subject_area"], row["term_bid"]].add(row["student_bid"])
            rosters = defaultdict(set)
            for row in on(day, "students"):
                if row["student_bid"]:
                    rosters[row["requested_school_bid"]].add(row["student_bid"])
            for school, students in rosters.items():
                for term in terms[school]:
                    begin, end = self.terms[term]["begin_date"], self.terms[term]["end_date"]
                    if begin is None or end is None or not begin <= day <= end:
                        continue
                    if not any(begin <= read <= day for read in covered[school]):
                        continue
                    for subject in subjects[school]:
                        rows.append(
                            {
                                "school_bid": school,
                                "subject_area": subject,
                                "term_bid": term,
                                "day": day,
                                "students": len(students),
                                "tested": len(students & tested[subject, term]),
                            }
                        )
        return rows


def differences(want: list[dict], got: list[dict], key: tuple[str, ...]) -> list:
    """The rows of one list that the other lacks, or that differ by more than 1e-6 in a number."""
    by_key = {tuple(row[name] for name in key): row for row in got}
    if len(by_key) != len(got) or len(want) != len(got):
        return [f"{len(want)} rows expected, {len(got)} rows of {len(by_key)} keys found"]
    different = []
    for row in want:
        other = by_key.get(tuple(row[name] for name in key))
        if other is None:
            different.append((row, None))
            continue
        for name, value in row.items():
            found = other[name]
            near = isinstance(value, float) and isinstance(found, (int, float)) and abs(value - found) <= 1e-6
            if value != found and not near:
                different.append((name, value, found, row))
    return different
