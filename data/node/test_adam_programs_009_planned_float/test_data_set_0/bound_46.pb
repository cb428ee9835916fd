BH_new_decayed_rows_aloneJ £J?ַ]מ־>‚ü³5אצ¡>ß
®5ןÝ²>cB~^/ְ>