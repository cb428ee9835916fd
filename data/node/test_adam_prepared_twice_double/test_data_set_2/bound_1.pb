BV_newJ Þzæëý¢·<dx~
¿NÄ<°Jï?ˆ€¤<‘\Xýt>­<