BV_newJÀje¾T#>ûö>1zF?io
?t4?