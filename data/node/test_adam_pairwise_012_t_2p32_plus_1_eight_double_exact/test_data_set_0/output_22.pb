BH7_newJùE01¦
?