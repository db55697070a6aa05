// Package overlay applies NodeOverlays: it decides which offerings of which NodePools each overlay changes, which
// overlays conflict, and what prices and capacity come to ([Apply]).
//
// An overlay corrects what is known of instance types and nothing of what EC2 charges or has. The same overlays,
// NodePools and instance types give the same result.
//
//	result := overlay.Apply(snapshot.Overlays, snapshot.Pools, catalogs)
//	for pool, types := range result.Catalogs { // what NodePools see of their class's instance types, if that differs
//		in.Catalogs[model.CatalogKey(classes[pool], pool)] = types
//	}
package overlay
