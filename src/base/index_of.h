// Numbers things in order of first use.
#pragma once

namespace geiger::base {

/// The index in `all` of what has this key: `known` maps keys to indexes. For a key that is new,
/// `value` is appended.
template <typename Known, typename All>
typename Known::mapped_type index_of(Known& known, const typename Known::key_type& key, All& all,
                                     const typename All::value_type& value) {
  const auto next = static_cast<typename Known::mapped_type>(all.size());
  const auto [place, is_new] = known.try_emplace(key, next);
  if (is_new) all.push_back(value);
  return place->second;
}

/// Of things that are their own keys.
template <typename Known, typename All>
typename Known::mapped_type index_of(Known& known, const typename Known::key_type& key, All& all) {
  return index_of(known, key, all, key);
}

}  // namespace geiger::base
