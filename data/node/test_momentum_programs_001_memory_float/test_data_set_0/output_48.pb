B
X_second_TJrfçø∑∆«æµ.ø
&¢ø