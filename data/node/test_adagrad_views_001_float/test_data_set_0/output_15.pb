BH_new_G_expandedJxv@
c#?Ù/<@<§º@6Eˆ@´½Š@