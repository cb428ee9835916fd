BV_newJ>;'ZvÑ>
{‰Ðv?º>IÉpÿ€ÞÆ>