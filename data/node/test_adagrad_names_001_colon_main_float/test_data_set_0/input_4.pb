Bvalue:HJo6
@şv@W¸?¿R@