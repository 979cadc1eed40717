-- Generated from the declarations in schemas: edit those.
SELECT day FROM (SELECT {{ growth_export_snapshot_date() }} AS day) AS days
