// Package pricing is a model of the AWS Price List service for EC2 instances:
// GetProducts with filters and pages, answering with price lists in the nested
// documents of the real one. What a type costs is decided in package catalog;
// this package makes products of it, and also some nobody should take for an
// on-demand Linux price (Windows, dedicated tenancy, unused reservations), so
// that a reader that filters badly is found out.
//
//	c.Register("pricing", pricing.NewHandler(pricing.New(pricing.Options{})))
package pricing
