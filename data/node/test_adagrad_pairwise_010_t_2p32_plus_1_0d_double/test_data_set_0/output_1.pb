BH_newJМо#ы*
?