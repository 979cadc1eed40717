SELECT * FROM {{.Versions}} WHERE valid_to = DATE '9999-12-31'
