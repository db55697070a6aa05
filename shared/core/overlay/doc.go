// Package overlay applies NodeOverlays: it decides which offerings of which NodePools each overlay changes, which
// overlays conflict, and what prices and capacity come to ([Apply]).
//
// An overlay corrects what is known of instance types and nothing of what EC2 charges or has. The same overlays,
// NodePools and instance types give the same result.
//
//	overlay.AddTo(catalogs, catalogs, snapshot, nil)
//	types := model.CatalogOf(catalogs, class, pool) // what the NodePool sees of its class's instance types
package overlay
