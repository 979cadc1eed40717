package prose

import (
	"regexp"
	"strings"
)

// rule is a turn of phrase to avoid.
type rule struct {
	// pattern is a regular expression. A space in it matches any white space, so that phrases across lines are found.
	pattern string
	// except is a regular expression of phrases that the pattern matches although they are ordinary English.
	except string
	// instead is the advice for a better wording.
	instead string
	// bad must be found, good must not.
	bad, good string
}

func rules() []rule {
	return []rule{
		{
			pattern: `\b(tells|says|told) (whether|if)\b`,
			instead: `"reports whether"`,
			bad:     "isOpen tells whether the gate is open", good: "a user cannot tell whether it works",
		},
		{
			pattern: `(\b(there|There) )?\b(is|are|was|were) no [a-z-]+`,
			except:  `^[tT]here|no (longer|more|such|better|different|doubt|exception|worse)$`,
			instead: `"is not a ..." or "has no ..."`,
			bad:     "An upload that is started is no object.", good: "There is no run, it is no longer staged, and is no different.",
		},
		{
			pattern: `(\bthere )?\b(is|are|was|were) none\b`,
			except:  `^there (is|was)`,
			instead: `"there are no ..." or "is missing"`,
			bad:     "where there are none", good: "none are left, and there is none",
		},
		{pattern: `\b[Ww]hoever\b`, instead: `name who: "a caller that ...", "the process that ..."`, bad: "whoever finds it"},
		{pattern: `\banew\b`, instead: `"again"`, bad: "It is read anew."},
		{
			pattern: `\bfor good([.,;:)]|\s*$)`,
			instead: `"permanently"`,
			bad:     "It is gone for good.", good: "for good reasons",
		},
		{pattern: `\bfor ever\b`, instead: `"forever"`, bad: "it retries for ever"},
		{
			pattern: `\b[Nn]obody('s| (any|can|could|else|has|is|knows|may|there|was|will|would|[a-z]+s|[a-z]+ed)\b)`,
			instead: `name what does not: "no process reads it", "unused", "unknown"`,
			bad:     "files that nobody names", good: "--run-id nobody --schools",
		},
		{
			pattern: `\b([Tt]ell|[Tt]ells|[Tt]old) of\b`,
			instead: `"describes", "lists", "notifies"`,
			bad:     "the log tells of each retry",
		},
		{
			pattern: `\b(is|are|was|were|be|been) told\b( apart| from)?`,
			except:  `(apart|from)$`,
			instead: `"is notified", "is reported", "gets", "knows"`,
			bad:     "the observer is told", good: "two runs can be told apart",
		},
		{pattern: `\bto be had\b`, instead: `"available", "can get"`, bad: "no token to be had"},
		{pattern: `\b[Mm]eanwhile\b`, instead: `"since", "in the meantime", or say since when`, bad: "it was published meanwhile"},
		{pattern: `\bby now\b`, instead: `"already", "may have been"`, bad: "purged by now"},
		{pattern: `\bof no account\b`, instead: `"ignored"`, bad: "journals are of no account"},
		{
			pattern: `\b(that|those) of (a|all|an|any|another|each|every|its|no|one|other|our|the|their|this|what|which)\b`,
			instead: "repeat the noun",
			bad:     "the hash is that of the manifest", good: "some of those of interest",
		},
		{pattern: `\b[Ww]hat was (tried|meant|done|there)\b`, instead: "use a noun", bad: "clears what was tried"},
		{pattern: `\bas was meant\b`, instead: `"as intended"`, bad: "it fails, as was meant"},
		{pattern: `\bthough (it|they) (be|had)\b`, instead: `"although it is"`, bad: "though it be large"},
		{pattern: `\b([Hh]alf|[0-9]+ ?%) in\b`, except: `% in$`, instead: `"p50", "p90"`, bad: "half in 20 ms", good: "half of them"},
		{pattern: `\b(refuses|denies|covers|asks|told|tells) us\b`, instead: `"denied access (403)"`, bad: "the service refuses us"},
		{
			pattern: `\b([Ss]tands?|stood)\b( for\b| by\b| alone\b| out\b|-)?`,
			except:  `(for|by|alone|out|-)$`,
			instead: `"is", "is in", "applies"`,
			bad:     "its name stands in the plan", good: "i stands for index, and we understand",
		},
		{pattern: `\bloudly not\b`, instead: `"fails loudly"`, bad: "complete or loudly not"},
		{pattern: `\b[Tt]he service forgets\b`, instead: `"keeps no history"`, bad: "The service forgets."},
		{
			pattern: `(^\s*|[.:] )What [a-z]+ ([^.?!\n]|\n[^\n])*[.]`,
			instead: "begin with a noun",
			bad:     "What was staged is dropped.", good: "What is published? The manifest says what is.",
		},
		{
			pattern: `\A\s*[A-Za-z.]+ (is|are) what\b`,
			instead: `begin with a noun: "Report lists the changes ..."`,
			bad:     "Report is what Update did.", good: "a report is what operators read",
		},
		{pattern: `\b[Ww]hat (no|nobody|nothing)\b`, instead: `use a noun: "values without a column"`, bad: "what no column takes"},
		{pattern: `\b[Ww]ithout a word\b`, instead: `"silently"`, bad: "fails without a word"},
		{pattern: `\b[Mm]ost (requests|calls|schools) in flight\b`, instead: `"maximum concurrent requests"`, bad: "most requests in flight"},
		{
			pattern: `(^\s*|[.:] )Who\s[a-z][^.?!]*[.]`,
			instead: `name who: "callers", "readers", "users"`,
			bad:     "Who wants to know is notified.", good: "Who can read it?",
		},
		{pattern: `\b([Tt]hat|[Tt]hose) which\b`, instead: `"the one that", "the ones that"`, bad: "the newest is that which was planned last"},
		{
			pattern: `\b[Kk]nows? no [a-z-]+`,
			except:  `(better|bounds|limits)$`,
			instead: `"does not know", "has no", "does not support"`,
			bad:     "the store knows no locks",
		},
		{pattern: `\b(for want of|in vain)\b`, instead: `"for lack of", "without effect"`, bad: "for want of a lock"},
		{pattern: `\b(is|are|was|were|be) through with\b`, instead: `"has finished"`, bad: "it is through with it"},
		{pattern: `\bin no way\b`, instead: `"not"`, bad: "it depends in no way"},
		{pattern: `\b(has|have) it that\b`, instead: `"says"`, bad: "the plan has it that"},
	}
}

// compiled is a rule ready for use.
type compiled struct {
	rule
	pattern, except *regexp.Regexp
}

func compile(rules []rule) []compiled {
	all := make([]compiled, len(rules))
	for i, r := range rules {
		all[i] = compiled{rule: r, pattern: regexp.MustCompile(`(?m)` + strings.ReplaceAll(r.pattern, " ", `\s+`))}
		if r.except != "" {
			all[i].except = regexp.MustCompile(strings.ReplaceAll(r.except, " ", `\s+`))
		}
	}
	return all
}

// bareVerbs returns function names that say nothing in a stack trace.
func bareVerbs() []string {
	return []string{"alone", "begin", "do", "follow", "judge", "take", "told"}
}

// limitNames matches names of constants that should begin with max, min or default.
func limitNames() *regexp.Regexp {
	return regexp.MustCompile(`^(most|smallest|longest|largest|little|enough)[A-Z]`)
}
