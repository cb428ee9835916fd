B
H_second_XJ\‚@œ!@KmE@`í@