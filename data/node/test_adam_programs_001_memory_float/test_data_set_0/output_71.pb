B
V_second_TJ@‚*¿ְ—¿דפ½6ßh>