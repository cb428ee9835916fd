BV_new_decayed_rows_aloneJ –‹-_M“>`(?:y¨>
n ),>g§c:{‡>