BV2_new_negativeJ Œ«<êUÚä¿äÄˆ·?­ê81žð¿ti
}?e¶¿