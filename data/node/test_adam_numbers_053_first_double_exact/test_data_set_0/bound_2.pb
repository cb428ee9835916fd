BH_newJ ‹\ ˜]"f<úãÅóóh<rN}
tT<{½[è™.D<