BV_newJ00X°fhFz>ýºüzhl‚>à2m^"Þ>DtU0#ˆ>ª…¦£
|>Šqž¶]gb>