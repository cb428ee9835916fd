Bvalue:V1_new_ifJ Ôxä$±µ<X/.
”∏<y¥*¬¨<uE¸Y8√<