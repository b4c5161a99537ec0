//! Prices of models, to compute costs. Only the user's own are used: there are no built-in ones, because they change.

use indexmap::IndexMap;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// The currency unless the file has another.
const CURRENCY: &str = "$";

/// Prices by model.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Prices {
    /// The currency, in front of amounts.
    pub currency: Option<String>,
    /// Names and prices, in the file's order. A name ending in `*` matches all names with that prefix.
    #[serde(flatten)]
    pub models: IndexMap<String, Price>,
}

/// The price of a million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    /// Input that was read from the provider's cache; else it costs what input costs.
    pub cached: Option<f64>,
    /// Output that was used for reasoning; else it costs what output costs.
    pub reasoning: Option<f64>,
}

/// Numbers of tokens. The cached ones are a part of the input, those for reasoning a part of the output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tokens {
    pub input: u64,
    pub cached: u64,
    pub output: u64,
    pub reasoning: u64,
}

impl Price {
    /// Returns the cost of tokens.
    pub fn cost(&self, tokens: Tokens) -> f64 {
        let parts = [
            (tokens.input.saturating_sub(tokens.cached), self.input),
            (
                tokens.cached.min(tokens.input),
                self.cached.unwrap_or(self.input),
            ),
            (tokens.output.saturating_sub(tokens.reasoning), self.output),
            (
                tokens.reasoning.min(tokens.output),
                self.reasoning.unwrap_or(self.output),
            ),
        ];
        parts
            .into_iter()
            .map(|(count, price)| count as f64 * price / 1e6)
            .sum()
    }
}

impl Prices {
    /// Returns the price of a model: an exact match, else the longest matching prefix.
    pub fn of(&self, model: &str) -> Option<Price> {
        let starts = self
            .models
            .iter()
            .filter(|(name, _)| name.strip_suffix('*').is_some_and(|s| model.starts_with(s)));
        let nearest = || starts.max_by_key(|(name, _)| name.len());
        let price = self.models.get(model);
        price.or_else(|| Some(nearest()?.1)).copied()
    }

    /// Formats an amount: `$0.0142`, `$12.40`.
    pub fn amount(&self, cost: f64) -> String {
        let currency = self.currency.as_deref().unwrap_or(CURRENCY);
        if cost < 1.0 {
            format!("{currency}{cost:.4}")
        } else {
            format!("{currency}{cost:.2}")
        }
    }
}

/// A currency, and a table for each model.
impl<'d> Deserialize<'d> for Prices {
    fn deserialize<D: Deserializer<'d>>(from: D) -> Result<Prices, D::Error> {
        struct Table;
        impl<'d> Visitor<'d> for Table {
            type Value = Prices;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table")
            }

            fn visit_map<A: MapAccess<'d>>(self, mut table: A) -> Result<Prices, A::Error> {
                let mut prices = Prices::default();
                while let Some(name) = table.next_key::<String>()? {
                    match &*name {
                        "currency" => prices.currency = Some(table.next_value()?),
                        _ => drop(prices.models.insert(name, table.next_value()?)),
                    }
                }
                Ok(prices)
            }
        }
        from.deserialize_map(Table)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;

    #[test]
    fn costs_use_the_users_prices_only() {
        let text = "[prices]\n\"gpt-5.1\" = { input = 2, cached = 0.5, output = 10 }\n\
                    \"gpt-5*\" = { input = 1, output = 4, reasoning = 8.0 }\n";
        let prices = Config::parse(text, None).unwrap().prices;
        let tokens = Tokens {
            input: 1_000_000,
            cached: 400_000,
            output: 100_000,
            reasoning: 50_000,
        };
        let cost = |model: &str| {
            prices
                .of(model)
                .map(|price| prices.amount(price.cost(tokens)))
        };
        assert_eq!(cost("gpt-5.1").as_deref(), Some("$2.40"));
        assert_eq!(cost("gpt-5-mini").as_deref(), Some("$1.60"));
        assert_eq!(cost("other"), None);
        assert_eq!(prices.amount(0.01423), "$0.0142");
        assert!(
            Config::default().prices.models.is_empty(),
            "there are no built-in prices"
        );
    }
}
