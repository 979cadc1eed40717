{{- /* The normal distribution beyond a distance from the mean, which neither engine has. Hart's rational approximation
(1968, algorithm 5666) is exact to 12 digits. */ -}}
{{define "normal_tail"}}CASE
            WHEN {{.}} > 7 THEN 0e0
            ELSE exp(-{{.}} * {{.}} / 2)
                * ((((((0.0352624965998911e0 * {{.}} + 0.700383064443688e0) * {{.}} + 6.37396220353165e0) * {{.}}
                    + 33.912866078383e0) * {{.}} + 112.079291497871e0) * {{.}} + 221.213596169931e0) * {{.}} + 220.206867912376e0)
                / (((((((0.0883883476483184e0 * {{.}} + 1.75566716318264e0) * {{.}} + 16.064177579207e0) * {{.}}
                    + 86.7807322029461e0) * {{.}} + 296.564248779674e0) * {{.}} + 637.333633378831e0) * {{.}}
                    + 793.826512519948e0) * {{.}} + 440.413735824752e0)
        END{{end}}
{{- /* The quintile of a percentile. */ -}}
{{define "quintile"}}CASE
        WHEN {{.}} <= 20 THEN 'Low'
        WHEN {{.}} <= 40 THEN 'LoAvg'
        WHEN {{.}} <= 60 THEN 'Avg'
        WHEN {{.}} <= 80 THEN 'HiAvg'
        WHEN {{.}} IS NOT NULL THEN 'High'
    END{{end}}
{{- /* The subject by which norms are found. */ -}}
{{define "subject"}}CASE lower(trim({{.}})) WHEN 'general science' THEN 'science' ELSE lower(trim({{.}})) END{{end}}
{{- /* The measures of a group of spans. */ -}}
{{define "measures"}}count(*) AS students,
        avg(CAST(spans.observed_growth AS DOUBLE)) AS mean_observed_growth,
        avg(spans.projected_growth) AS mean_projected_growth,
        avg(CASE WHEN spans.met_projected_growth LIKE 'Yes%' THEN 1e0 WHEN spans.met_projected_growth LIKE 'No%' THEN 0e0 END) AS share_met,
        CAST(median(spans.conditional_growth_percentile) AS DOUBLE) AS median_conditional_growth_percentile,
        count(spans.met_projected_growth) AS with_norms{{end}}
