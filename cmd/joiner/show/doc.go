// Package show writes a plan down: [PlanJSON] for programs, with names and fields that stay as they are, and [Table] for
// people.
//
// It decides nothing. The table folds what is alike: nodes of one kind are a line with their number, pods that nothing can
// hold for the same reasons are one entry. It is as wide as the terminal, or 120 columns, and has no colors.
// [Adoption] and [AdoptionJSON] do the same for the nodes of a cluster that Karpenter ran.
//
//	err := show.Table(os.Stdout, &show.Result{Plan: plan, Catalogs: catalogs})
package show
