SELECT day FROM {{days}}
