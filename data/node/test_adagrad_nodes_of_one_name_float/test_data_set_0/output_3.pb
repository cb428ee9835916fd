B
H_new_twinJ9w¢@xÜ‡@£Â@ùaö@D‡@Ú–@