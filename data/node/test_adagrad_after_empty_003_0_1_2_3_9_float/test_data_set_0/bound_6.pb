BH2_newJ\
G·>