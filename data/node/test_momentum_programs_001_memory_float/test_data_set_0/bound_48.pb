B
X_second_TJ »ήσgc²>›qΘΤΖ§>ΛGSί}zΆ>-C0ο‡@Ή>