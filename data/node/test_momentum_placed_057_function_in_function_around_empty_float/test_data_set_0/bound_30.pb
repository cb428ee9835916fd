BV4_new_twin_sameJ
ä}&a:‘>©©ZN7U>