BX_new_scaled_rateJ Í:a¸
®>ÃZdþÁDª>tÜ´S	¢>þÓÌm¯>