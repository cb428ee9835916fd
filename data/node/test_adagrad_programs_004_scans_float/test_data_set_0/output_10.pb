B
H_scalar_RJ0Rf@³M¯?Ã=@>X@Rf@³M¯?Ã=@>X@Rf@³M¯?Ã=@>X@