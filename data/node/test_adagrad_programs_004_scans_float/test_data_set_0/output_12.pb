B
H_scalar_TJ0Rf@³M¯?Ã=@>X@Rf@³M¯?Ã=@>X@Rf@³M¯?Ã=@>X@