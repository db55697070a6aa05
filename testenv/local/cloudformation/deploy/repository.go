package deploy

import (
	"context"
	"fmt"
)

func repositoryExists(_ context.Context, r resource) (bool, error) {
	name, err := r.name()
	return r.account.ECR != nil && r.account.ECR.Has(name), err
}

// makeRepository makes a repository for images.
func makeRepository(_ context.Context, r resource) error {
	var p struct{ RepositoryName string }
	if err := r.decode(&p); err != nil {
		return err
	}
	name, err := r.name()
	if err != nil {
		return err
	}
	if r.account.ECR == nil {
		return fmt.Errorf("repository %s: this account has no model of ECR", name)
	}
	return r.account.ECR.Create(name)
}

// changeRepository changes nothing: what can be changed of a repository no model honors.
func changeRepository(context.Context, resource, properties) error { return nil }

// removeRepository deletes a repository, which ECR refuses while images are in it.
func removeRepository(_ context.Context, r resource) error {
	name, err := r.name()
	if err != nil {
		return err
	}
	return r.account.ECR.Delete(name, false)
}
