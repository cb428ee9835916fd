B
H_second_HJ¥›i@,k‡@t‡I@«∑ú?