// Package s3catalog keeps the instance catalog of each account and region in an S3 bucket, where every function finds
// it.
//
//	catalog/<account>/<region>.jnc    package wire's encoding; account is "own" where it is not known
//	versions/<account>/<region>/<version>.jnc   the same as it was under that version
//
// There is one object for each, replaced on condition of what was read before: of two that refresh it at once one is
// Conflict. A read is conditional too, so that what has not changed is neither sent nor decoded again. It leaves what
// goes into a catalog to adapter/ec2catalog, and when to refresh it to flow/catalog.
//
//	store := s3catalog.New(s3.NewFromConfig(config), "joiner-data", s3catalog.Settings{})
//	catalog, revision, err := store.Read(ctx, reg)
//	err = store.Write(ctx, reg, catalog, revision)
package s3catalog
