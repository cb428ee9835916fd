BH_newJ Wม U}จs>BS
üjo>6eด{0p>ศ3NชิÛh>