B
V_second_XJ ãG‡ŽO>}Zî-v–>yçhžOš>u2qÁ…>