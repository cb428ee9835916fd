BX_new_decayed_rows_1J ƒ΅“ΪxΊ>f([(H¨>ΟQμέ	­>5
fΒ-‡>