module papir.example/go

go 1.22
