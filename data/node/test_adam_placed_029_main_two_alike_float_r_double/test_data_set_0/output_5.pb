BV2_negativeJP\øÒt?±i0øz√
?