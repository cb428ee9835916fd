B
G_negativeJ>€Ã¿Õ‡q>±Ú¯½^Ú¿