BG_besideJN|¿[å
?C,ÿ¿1ÅZ¾