BV3_newJHÓx 
AJgHØz18¡P.ç'ëwA