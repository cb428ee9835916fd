B
V_second_HJ@‚*¿ְ—¿דפ½6ßh>