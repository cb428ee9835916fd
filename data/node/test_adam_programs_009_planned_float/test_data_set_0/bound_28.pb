BH_new_decayed_aloneJ £J?Ç]îÎ>DN5º¡>ß
®5ïÝ²>cyþ,L±>