B
X_second_TJ *?Ê÷(f€>ÐD)ÛÃ >YüÓ´H†>ÛY_Š˜pq>