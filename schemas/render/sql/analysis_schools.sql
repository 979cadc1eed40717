WITH listed AS (
    -- Schools without an agreement are not in schools, but their district lists them.
    SELECT school_bid, name, district_bid, 1 AS list{{valid_to}} FROM {{every_version "schools"}}
    UNION ALL
    SELECT school_bid, name, coalesce(district_bid, requested_district_bid), 2{{valid_to}} FROM {{every_version "district_schools"}}
),
numbered AS (
    SELECT
        school_bid,
        name AS school_name,
        district_bid,
        row_number() OVER (
            PARTITION BY school_bid
            ORDER BY name IS NULL, {{newest "listed"}}list, name, district_bid IS NULL, district_bid
        ) AS number
    FROM listed
    WHERE school_bid <> ''
),
named AS (
    SELECT
        district_bid,
        district_name,
        row_number() OVER (
            PARTITION BY district_bid
            ORDER BY district_name IS NULL, {{newest "districts"}}district_name
        ) AS number
    FROM {{every_version "districts"}} AS districts
    WHERE district_bid <> ''
)
SELECT
    numbered.school_bid,
    numbered.school_name,
    numbered.district_bid,
    named.district_name
FROM numbered
LEFT JOIN named ON named.district_bid = numbered.district_bid AND named.number = 1
WHERE numbered.number = 1
