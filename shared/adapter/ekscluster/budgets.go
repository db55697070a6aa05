package ekscluster

import (
	"context"
	"slices"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
	"github.com/joiner-sh/joiner/shared/model"
)

// PDBs reads every PodDisruptionBudget live, by namespace and name.
func (c Reader) PDBs(ctx context.Context) ([]model.PDB, error) {
	budgets := []model.PDB{}
	err := listAll(ctx, of(c.core.PolicyV1().PodDisruptionBudgets(metav1.NamespaceAll)), func(object any) {
		budgets = append(budgets, translate.PDB(object.(*policyv1.PodDisruptionBudget)))
	})
	slices.SortFunc(budgets, func(a, b model.PDB) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return budgets, err
}
