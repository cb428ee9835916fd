BGJ
…ý>yJÞ>Qç8¿ED¿