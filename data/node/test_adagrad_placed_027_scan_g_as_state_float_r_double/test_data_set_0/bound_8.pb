BX2_new_twin_sameJ เKิ,!>ฆViลาก>ฯ€[/“>สืL
—>