B
V_second_RJ@‚*¿ְ—¿דפ½6ßh>