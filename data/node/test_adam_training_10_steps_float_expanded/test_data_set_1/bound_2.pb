BV_newJ,zL•¤já>Õ^p6Ï>
xZ»ªKÑ>